/** Returns a message as DNS sends it by TCP: after its length. */
export function framed(message: Buffer): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(message.length)
  return Buffer.concat([length, message])
}

/** Yields the messages that come by a connection. What is read and not yet a message is at most the largest one. */
export async function* messages(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let read: Buffer = Buffer.alloc(0)
  for await (const chunk of chunks) {
    read = Buffer.concat([read, chunk])
    while (read.length >= 2 && read.length >= 2 + read.readUInt16BE()) {
      const end = 2 + read.readUInt16BE()
      yield read.subarray(2, end)
      read = read.subarray(end)
    }
  }
}
