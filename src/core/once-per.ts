/** What is made of each object once, when it is first asked for; it goes when the object goes. */
export function oncePer<Of extends object, Made extends object | string | number>(
  make: (of: Of) => Made,
): (of: Of) => Made {
  const known = new WeakMap<Of, Made>();
  return (of) => {
    const before = known.get(of);
    if (before !== undefined) return before;
    const made = make(of);
    known.set(of, made);
    return made;
  };
}
