import { open as openFile } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';

/** What is asked of an open file. */
export type SegmentHandle = Pick<FileHandle, 'write' | 'datasync' | 'truncate' | 'stat' | 'close'>;
/** Opens a file; replaced in tests by disks that fail. */
export type OpenSegment = (path: string, flags: string, mode: number) => Promise<SegmentHandle>;

/** The file was removed or replaced under the writer: what it held is gone, and only a new segment can go on. */
export class SegmentLost extends Error {
  override readonly name = 'SegmentLost';
}

/**
 * Appends to one segment. A batch is there whole and synced when `append` resolves; when it rejects, nothing of it counts and
 * the same batch may be tried again: the file is opened anew, cut to what counted and written again, since after a failed
 * sync nobody knows which pages reached the disk.
 */
export class SegmentWriter {
  readonly path: string;
  readonly #open: OpenSegment;
  #handle: SegmentHandle | null = null;
  #offset = 0;
  #created = false;

  constructor(path: string, open: OpenSegment = openFile) {
    this.path = path;
    this.#open = open;
  }

  /** Bytes that count. */
  get offset(): number {
    return this.#offset;
  }

  async append(bytes: Buffer): Promise<void> {
    try {
      const handle = this.#handle ?? (await this.#reopen());
      this.#handle = handle;
      if ((await handle.stat()).nlink === 0) throw new SegmentLost('the segment was removed while it was written');
      for (let at = 0; at < bytes.length;) {
        const { bytesWritten } = await handle.write(bytes, at, bytes.length - at, this.#offset + at);
        if (bytesWritten === 0) throw new Error('the disk takes no more bytes');
        at += bytesWritten;
      }
      await handle.datasync();
      this.#offset += bytes.length;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = null;
    await handle?.close().catch(() => {});
  }

  async #reopen(): Promise<SegmentHandle> {
    if (!this.#created) {
      const handle = await this.#open(this.path, 'wx', 0o600);
      this.#created = true;
      await syncFolder(dirname(this.path));
      return handle;
    }
    const handle = await this.#open(this.path, 'r+', 0o600).catch((error: NodeJS.ErrnoException) => {
      throw error.code === 'ENOENT' ? new SegmentLost('the segment was removed while it was written') : error;
    });
    await handle.truncate(this.#offset);
    return handle;
  }
}

/** Makes the name of a new file last. Not every file system can; then there is nothing to do. */
async function syncFolder(dir: string): Promise<void> {
  const folder = await openFile(dir, 'r').catch(() => null);
  await folder?.sync().catch(() => {});
  await folder?.close().catch(() => {});
}
