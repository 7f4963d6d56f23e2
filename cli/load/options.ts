import { option } from '../../shared/config/option.ts'
import { decimal, durationFrom, oneOf, text, texts, wholeNumber } from '../../shared/config/option-types.ts'
import { clusterPlace } from '../access/cluster-access.ts'
import { endpointDelay } from './endpoint-delay.ts'

const noBound = -1

/** As `rehearse` has it, but that without it lost requests are no failure. */
const lostRequests = {
  ...wholeNumber({ min: 0, max: 1_000_000, placeholder: 'COUNT' }),
  show: (count: number) => (count === noBound ? undefined : String(count)),
}

const pathType = { ...text, placeholder: 'PATH', fromText: checkedPath }
const portType = { ...text, placeholder: 'PORT', fromText: checkedPort }
const headerType = { ...texts, placeholder: 'HEADER', fromText: checkedHeader }

export const loadOptions = {
  ...clusterPlace,
  namespace: option(text, { default: 'default', short: 'n', help: 'Namespace of the target' }),
  rate: option(decimal({ min: 0.1, max: 1_000, placeholder: 'COUNT' }), { default: 20, help: 'Requests per second' }),
  duration: option(durationFrom({ min: '1s', max: '1h' }), {
    default: 30_000,
    help: 'How long requests are sent, from 1s to 1h; Ctrl-C ends it earlier',
  }),
  path: option(pathType, { default: '/', help: 'Path and query of each request', flagOnly: true }),
  port: option(portType, {
    default: '',
    help: 'Port of the target, by number or name, if it has several',
    flagOnly: true,
  }),
  host: option(text, { default: '', help: 'Host header; by default the name of the Service', flagOnly: true }),
  header: option(headerType, { default: [], help: 'Another header, as "Name: value"; repeatable', flagOnly: true }),
  timeout: option(durationFrom({ min: '100ms', max: '5m' }), {
    default: 5_000,
    help: 'How long an answer may take, from 100ms to 5m',
    flagOnly: true,
  }),
  concurrency: option(wholeNumber({ min: 1, max: 500, placeholder: 'COUNT' }), {
    default: 64,
    help: 'Requests under way at the same time; while there are as many, none is sent',
  }),
  endpointDelay,
  readyTimeout: option(durationFrom({ min: '0s', max: '1h' }), {
    default: 30_000,
    help: 'How long to wait for a ready pod',
    flagOnly: true,
  }),
  maxLostRequests: option(lostRequests, {
    default: noBound,
    help: 'Exit code 1 if more requests are lost; without this flag losses are no failure',
    flagOnly: true,
  }),
  output: option(oneOf('text', 'json'), { default: 'text', short: 'o', help: 'How to print' }),
}

/** Returns whether the run fails because of its lost requests. */
export const isTooMany = (lost: number, most: number): boolean => most !== noBound && lost > most

function checkedPath(value: string): string {
  if (/^\/[\x21-\x7e]*$/.test(value) && !value.startsWith('//')) return value
  throw new Error(`must be a path such as /items?page=2, not "${value}"`)
}

/** A number, or the name of a port as Kubernetes allows it. */
function checkedPort(value: string): string {
  const isNumber = /^\d{1,5}$/.test(value) && Number(value) >= 1 && Number(value) <= 65_535
  if (isNumber || /^(?=.*[a-z])[a-z0-9-]{1,63}$/.test(value)) return value
  throw new Error(`must be a port such as 8080 or http, not "${value}"`)
}

function checkedHeader(value: string, soFar: string[] = []): string[] {
  if (/^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[ \t]*[\x21-\x7e][\t\x20-\x7e]*$/.test(value)) return [...soFar, value]
  throw new Error(`must be a header such as "Accept: text/html", not "${value}"`)
}
