/** 32 bytes from 64 hex digits or from base64; null for any other text. */
export function parsePromptKey(text: string): Uint8Array | null {
  const clean = text.trim();
  if (/^[0-9a-fA-F]{64}$/.test(clean)) return new Uint8Array(Buffer.from(clean, 'hex'));
  const bytes = Buffer.from(clean, 'base64');
  return /^[A-Za-z0-9+/]{43}=?$/.test(clean) && bytes.length === 32 ? new Uint8Array(bytes) : null;
}
