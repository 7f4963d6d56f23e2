/** Readers of a server's record. */
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import type { RecordedChange, RecordLine } from '../../shared/record/format.ts'
import type { TestApiServer } from './api-server.ts'
import { until } from './until.ts'

export const path = '/kubestage/v1/record'
export const pods = '/api/v1/namespaces/default/pods'
export const pod = (name: string, filler = '') => ({
  metadata: { name, annotations: { filler } },
  spec: { containers: [{ name: 'c', image: 'x' }] },
})

export interface Followed {
  lines: RecordLine[]
  answer: IncomingMessage
  /** Resolves when such a line has come. */
  has(isMeant: (line: RecordLine) => boolean): Promise<void>
}

export function follow(server: TestApiServer, query = 'watch=true'): Promise<Followed> {
  return new Promise((resolve, reject) => {
    const options = { ...server.tls, host: '127.0.0.1', port: server.port, path: `${path}?${query}`, agent: false }
    request(options, (answer) => {
      const lines: RecordLine[] = []
      let rest = ''
      answer.setEncoding('utf8').on('error', () => {})
      answer.on('data', (chunk: string) => {
        const parts = (rest + chunk).split('\n')
        rest = parts.pop()!
        lines.push(...parts.map((part) => JSON.parse(part) as RecordLine))
      })
      const has = (isMeant: (line: RecordLine) => boolean) =>
        until(() => lines.some(isMeant), { what: String(isMeant) })
      resolve({ lines, answer, has: async (isMeant) => void (await has(isMeant)) })
    })
      .on('error', reject)
      .end()
  })
}

export const isOf = (type: string, name: string) => (line: RecordLine) =>
  line.type === type && (line as RecordedChange).object.metadata.name === name
export const isSynced = ({ type }: RecordLine): boolean => type === 'SYNCED'
