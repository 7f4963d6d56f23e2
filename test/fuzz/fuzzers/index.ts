import type { Fuzzer } from '../fuzzer.ts'
import { bodyValues } from './body-values.ts'
import { celPrograms } from './cel-programs.ts'
import { clientAnswers } from './client-answers.ts'
import { http1Bytes } from './http1-bytes.ts'
import { http2Frames } from './http2-frames.ts'
import { selectors } from './selectors.ts'
import { shimLines } from './shim-lines.ts'
import { streams } from './streams.ts'
import { websocketChannels } from './websocket-channels.ts'

export const fuzzers: readonly Fuzzer[] = [
  http2Frames,
  http1Bytes,
  selectors,
  clientAnswers,
  streams,
  websocketChannels,
  shimLines,
  bodyValues,
  celPrograms,
]
