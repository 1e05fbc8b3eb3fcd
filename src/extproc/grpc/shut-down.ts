import type { GrpcServer } from './call.ts';

/** Waits for what is open, up to a deadline. Gives how many calls were cut. */
export async function shutDown(server: GrpcServer, open: () => number, deadlineMs: number): Promise<number> {
  let cut = 0;
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([
    server.close(),
    new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        cut = open();
        server.destroy();
        resolve();
      }, deadlineMs);
    }),
  ]);
  clearTimeout(timer);
  return cut;
}
