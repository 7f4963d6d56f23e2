/** The client's side of HTTP/1.1 and HTTP/2 against a server that answers anything: an error at most, and never an exception of another kind. */
import { AnswerReader } from '../../../shared/client/answer-reader.ts'
import { FrameSplitter } from '../../../shared/client/http2/frame-splitter.ts'
import { statusIn } from '../../../shared/client/http2/frames.ts'
import { frame, get } from '../../apiserver/http2/raw-client.ts'
import type { Fuzzer } from '../fuzzer.ts'
import { assertSpoken } from '../spoken.ts'

const answers = [
  'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello',
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
  'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n{}',
  'HTTP/1.0 204 No Content\r\n\r\n',
  'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n',
  'HTTP/1.1 200 OK\r\nContent-Length: 1e9\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffff\r\n',
].map((text) => Buffer.from(text))

export const clientAnswers: Fuzzer = {
  name: 'answers to our client',
  attempts: 3_000,
  start: () => ({
    attempt(random) {
      const bytes = random.chance(0.8) ? random.mutated(random.pick(answers)) : random.bytes(100)
      const reader = new AnswerReader(random.chance(0.2))
      assertSpoken(() => {
        for (const piece of random.pieces(bytes)) if (reader.push(piece)) return
        reader.end()
      })
      const frames = random.times(8, () =>
        random.mutated(frame(random.below(11), random.below(256), random.below(9), random.bytes(30))),
      )
      assertSpoken(() => {
        const splitter = new FrameSplitter(() => {})
        for (const piece of random.pieces(Buffer.concat(frames))) splitter.push(piece)
      })
      assertSpoken(() => void statusIn(random.mutated(random.pick([get(), Buffer.of(0x88), random.bytes(20)]))))
    },
  }),
}
