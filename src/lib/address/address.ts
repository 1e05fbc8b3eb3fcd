import net from 'node:net';

const LOOPBACK = new net.BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

// Link-local networks, and the addresses and names where clouds hand out machine credentials.
const METADATA = new net.BlockList();
METADATA.addSubnet('169.254.0.0', 16, 'ipv4');
METADATA.addSubnet('fe80::', 10, 'ipv6');
// The same network behind NAT64 (RFC 6052).
METADATA.addSubnet('64:ff9b::a9fe:0', 112, 'ipv6');
METADATA.addAddress('fd00:ec2::254', 'ipv6');
METADATA.addAddress('100.100.100.200', 'ipv4');
METADATA.addAddress('192.0.0.192', 'ipv4');
const METADATA_NAMES = new Set(['metadata', 'metadata.google.internal', 'instance-data', 'instance-data.ec2.internal']);

/** True for 127.0.0.0/8, ::1 and `localhost`: nobody outside this machine can connect. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || contains(LOOPBACK, host);
}

/** True for the two addresses that stand for all of a machine's. */
export function isAnyAddress(address: string): boolean {
  return address === '0.0.0.0' || address === '::';
}

/** True for link-local addresses and the metadata services of clouds, also written as an IPv4-mapped IPv6 address. */
export function isLinkLocal(host: string): boolean {
  return METADATA_NAMES.has(host.toLowerCase().replace(/\.$/, '')) || contains(METADATA, host);
}

/** True for an address in numbers, false for a name that DNS resolves. */
export function isIpAddress(host: string): boolean {
  return net.isIP(host) !== 0;
}

function contains(list: net.BlockList, host: string): boolean {
  const family = net.isIP(host);
  if (family === 0) return false;
  return list.check(host, family === 6 ? 'ipv6' : 'ipv4');
}
