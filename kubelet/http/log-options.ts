import { Problem } from './problem.ts'

/** v1.PodLogOptions, as far as it concerns the kubelet. */
export interface LogOptions {
  follow: boolean
  previous: boolean
  timestamps: boolean
  /** Selects lines written at this time or later, in milliseconds since the epoch. */
  sinceMs?: number
  tailLines?: number
  limitBytes?: number
}

/**
 * Parses and validates the query of a log request. Upstream: pkg/kubelet/server/server.go getContainerLogs,
 * pkg/apis/core/validation ValidatePodLogOptions.
 */
export function logOptions(query: URLSearchParams, nowMs: number): LogOptions {
  const sinceSeconds = integer(query, 'sinceSeconds')
  const sinceTime = query.get('sinceTime') || undefined
  const tailLines = query.get('tail') === 'all' ? undefined : (integer(query, 'tailLines') ?? integer(query, 'tail'))
  const limitBytes = integer(query, 'limitBytes')
  const sinceTimeMs = sinceTime === undefined ? undefined : Date.parse(sinceTime)
  if (Number.isNaN(sinceTimeMs)) throw undecodable()
  const invalid =
    (tailLines ?? 0) < 0 ||
    (limitBytes ?? 1) < 1 ||
    (sinceSeconds ?? 1) < 1 ||
    (sinceSeconds !== undefined && sinceTime !== undefined)
  if (invalid) throw new Problem(422, '{"message": "Invalid request."}')
  return {
    follow: flag(query, 'follow'),
    previous: flag(query, 'previous'),
    timestamps: flag(query, 'timestamps'),
    sinceMs: sinceSeconds === undefined ? sinceTimeMs : nowMs - sinceSeconds * 1000,
    tailLines,
    limitBytes,
  }
}

const undecodable = () => new Problem(400, '{"message": "Unable to decode query."}')

function integer(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  if (!/^[+-]?\d{1,18}$/.test(text)) throw undecodable()
  return Number(text)
}

/** Parses a boolean as everywhere in the API: a value that is not plainly false is true. */
function flag(query: URLSearchParams, name: string): boolean {
  const text = query.get(name)
  return text !== null && !['0', 'false'].includes(text.toLowerCase())
}
