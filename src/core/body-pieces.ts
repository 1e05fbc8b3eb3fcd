/** A body in pieces, in their order: what is passed on as it came need not be copied to stand in one. */
export class BodyPieces {
  readonly pieces: readonly Buffer[];
  readonly length: number;

  constructor(pieces: readonly Buffer[]) {
    this.pieces = pieces;
    this.length = pieces.reduce((sum, { length }) => sum + length, 0);
  }

  /** All of it as UTF-8. */
  toString(): string {
    return Buffer.concat(this.pieces).toString();
  }
}

/** A body in one piece or in more. */
export type Body = Buffer | BodyPieces;

/** The same bytes in one. */
export function wholeBody(body: Body): Buffer {
  return body instanceof BodyPieces ? Buffer.concat(body.pieces) : body;
}

/** Its pieces, one where it is in one. */
export function partsOf<B extends Uint8Array>(body: B | BodyPieces): readonly (B | Buffer)[] {
  return body instanceof BodyPieces ? body.pieces : [body];
}
