/**
 * Primes whose residues give away RSA keys of the flawed generator (Nemec et al., "The Return of Coppersmith's Attack",
 * 2017, CVE-2017-15361): its primes are k * M + (65537^a mod M), so every modulus is a power of 65537 modulo each of them.
 */
const PRIMES = [11, 13, 17, 19, 37, 53, 61, 71, 73, 79, 97, 103, 107, 109, 127, 151, 157] as const;

function powers(prime: number): ReadonlySet<number> {
  const seen = new Set<number>();
  for (let value = 1; !seen.has(value); value = (value * 65537) % prime) seen.add(value);
  return seen;
}

const RESIDUES = PRIMES.map((prime) => ({ prime: BigInt(prime), residues: powers(prime) }));

/** Does an RSA modulus bear the mark? About one honest key in 2^27 does too, and is refused with them. */
export function isRoca(modulus: bigint): boolean {
  return RESIDUES.every(({ prime, residues }) => residues.has(Number(modulus % prime)));
}
