/**
 * A snapshot id from a random uuid: its halves are XORed and the sign bit cut off, as Java does (Iceberg spec,
 * appendix F). In 1..2^63-1.
 */
export function newSnapshotId(uuid: string): bigint {
  const hex = uuid.replaceAll('-', '');
  const id = (BigInt(`0x${hex.slice(0, 16)}`) ^ BigInt(`0x${hex.slice(16, 32)}`)) & (2n ** 63n - 1n);
  return id === 0n ? 1n : id;
}
