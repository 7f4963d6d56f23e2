/** Answers in HTTP/1.1 that wish a client ill. Each client's suite says what the client makes of them. */
export interface HostileAnswer {
  start?: string
  /** What follows without end. */
  again?: string
}

export const head = 'HTTP/1.1 200 OK\r\n'
export const hostileAnswers = {
  'nothing, for ever': {},
  'a head without end': { start: `${head}A: `, again: 'a' },
  'interim answers without end': { again: 'HTTP/1.1 103 Early Hints\r\n\r\n' },
  'a body without end': {
    start: `${head}\r\n`,
    again: 'x'.repeat(1000),
  },
  'a length of 1 GB': { start: `${head}Content-Length: 1073741824\r\n\r\n`, again: 'x' },
  'an extension without end': {
    start: `${head}Transfer-Encoding: chunked\r\n\r\n5;`,
    again: 'x',
  },
  'trailers without end': {
    start: `${head}Transfer-Encoding: chunked\r\n\r\n0\r\n`,
    again: 'a: b\r\n',
  },
  'chunks of garbage': { start: `${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n` },
  'a length below zero': { start: `${head}Content-Length: -1\r\n\r\n` },
  'a length that is never reached': { start: `${head}Content-Length: 10\r\n\r\n{}` },
  'another protocol': { start: '220 smtp.example.com ready\r\n\r\n' },
  'a switch of protocols': { start: 'HTTP/1.1 101 Switching Protocols\r\n\r\n' },
  'no JSON': { start: `${head}Content-Length: 2\r\n\r\n{]` },
  null: { start: `${head}Content-Length: 4\r\n\r\nnull` },
  'a redirect': {
    start: 'HTTP/1.1 307 Temporary Redirect\r\nLocation: https://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n',
  },
  'later, in a year': {
    start: 'HTTP/1.1 429 Too Many\r\nRetry-After: 31536000\r\nContent-Length: 0\r\n\r\n',
  },
} satisfies Record<string, HostileAnswer>

/** What a client's errors are like. */
export type HostileErrors = Record<keyof typeof hostileAnswers, RegExp>
