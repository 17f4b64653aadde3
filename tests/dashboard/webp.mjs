// Still WebP pictures as one animated WebP (the container is described in RFC 9649).

const PLAYS = 3;

const number = (value, bytes) => Buffer.from(Array.from({ length: bytes }, (_, n) => (value >>> (8 * n)) & 255));

function chunk(name, ...parts) {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(name, "latin1"), number(body.length, 4), body, Buffer.alloc(body.length % 2)]);
}

/** The chunks with the pixels, and the size. */
function read(webp) {
  const pixels = [];
  let width = 0, height = 0;
  for (let at = 12; at + 8 <= webp.length; ) {
    const name = webp.toString("latin1", at, at + 4), length = webp.readUInt32LE(at + 4), body = webp.subarray(at + 8, at + 8 + length);
    if (["ALPH", "VP8 "].includes(name)) pixels.push(chunk(name, body));
    if (name === "VP8 ") [width, height] = [body.readUInt16LE(6) & 0x3fff, body.readUInt16LE(8) & 0x3fff];
    at += 8 + length + (length % 2);
  }
  return { pixels, width, height };
}

/** @param {{ webp: Buffer, ms: number }[]} frames Lossy pictures of one size, and how long each is shown. */
export function animated(frames) {
  const { width, height } = read(frames[0].webp), IS_ANIMATED = 2, DO_NOT_BLEND = 2;
  const size = Buffer.concat([number(width - 1, 3), number(height - 1, 3)]);
  const body = Buffer.concat([
    chunk("VP8X", number(IS_ANIMATED, 4), size),
    chunk("ANIM", number(0xffffffff, 4), number(PLAYS, 2)),
    ...frames.map(({ webp, ms }) => chunk("ANMF", number(0, 6), size, number(ms, 3), number(DO_NOT_BLEND, 1), ...read(webp).pixels)),
  ]);
  return chunk("RIFF", Buffer.from("WEBP"), body);
}
