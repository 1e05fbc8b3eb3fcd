import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Keeps what jobs hold from whoever reads the store, and lets workers know each other. */
export interface JobSeal {
  /** AES-256-GCM, bound to the job. */
  readonly seal: (id: string, text: string) => string;
  /** Throws for another key, another job, and what was changed. */
  readonly open: (id: string, sealed: string) => string;
  /** What a worker shows that runs the job. */
  readonly tokenOf: (id: string) => string;
  /** The id of the job that such a token is of; null for any other text. */
  readonly idOf: (token: string) => string | null;
}

const TOKEN = /^tlj\.(job_[0-9a-f]{32})\.([\w-]{43})$/;

/** Makes the seal of a key of 32 bytes. */
export function createJobSeal(key: Uint8Array): JobSeal {
  const derive = (use: string): Buffer => Buffer.from(hkdfSync('sha256', key, '', `tokenlat jobs v1 ${use}`, 32));
  const [cipherKey, tokenKey] = [derive('seal'), derive('token')];
  const macOf = (id: string): string => createHmac('sha256', tokenKey).update(id).digest('base64url');
  return {
    seal(id, text) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(CIPHER, cipherKey, iv).setAAD(Buffer.from(id));
      return Buffer.concat([iv, cipher.update(text), cipher.final(), cipher.getAuthTag()]).toString('base64');
    },
    open(id, sealed) {
      const bytes = Buffer.from(sealed, 'base64');
      const [iv, tag] = [bytes.subarray(0, IV_BYTES), bytes.subarray(-TAG_BYTES)];
      const decipher = createDecipheriv(CIPHER, cipherKey, iv, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(id));
      decipher.setAuthTag(tag);
      return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]).toString();
    },
    tokenOf: (id) => `tlj.${id}.${macOf(id)}`,
    idOf(token) {
      const [, id = '', mac = ''] = TOKEN.exec(token) ?? [];
      return id !== '' && timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(id))) ? id : null;
    },
  };
}
