/**
 * Limits what clients may hold at the server, so that none of them can exhaust it. This table makes the flags and keys
 * of the configuration, the table in docs/configuration.md, the metric and the lines of the log.
 */
import type { Option, OptionType } from '../../../shared/config/option.ts'
import { durationFrom, wholeNumber } from '../../../shared/config/option-types.ts'
import type { Limit } from '../../../shared/limits/reached-limits.ts'
import { maxManagedFields } from '../../patch/structured-merge/field-count.ts'
import { maxDefaultBytes } from '../../schema/defaulting.ts'
import { defaultWorkLimits, type WorkLimits } from '../../work-limits.ts'

interface LimitRow extends Limit {
  /** Reads the value; absent if the limit cannot be changed. */
  type?: OptionType<number>
  default: number
  /** Shows the default where `type` does not. */
  shown?: string
}

const rows = <Name extends string>(table: Record<Name, LimitRow>): Record<Name, LimitRow> => table
const number = (min: number, max: number): OptionType<number> => wholeNumber({ min, max, placeholder: 'NUMBER' })
const bytes = (min: number, max: number): OptionType<number> => wholeNumber({ min, max, placeholder: 'BYTES' })
const KiB = 1024
const MiB = 1024 * KiB
const GiB = 1024 * MiB

/** Holds limits with a flag, by the key of the configuration. Their names are upstream's where it has such a flag. */
const settable = rows({
  maxConnections: {
    type: number(10, 1_000_000),
    default: 10_000,
    what: 'connections of all clients',
    beyond: 'the oldest without credentials is closed, or the new one',
  },
  maxAnonymousConnections: {
    type: number(1, 1_000_000),
    default: 1_000,
    what: 'connections without valid credentials',
    beyond: 'the oldest of them is closed',
  },
  maxHandshakes: {
    type: number(10, 1_000_000),
    default: 1_000,
    what: 'TLS handshakes at a time',
    beyond: 'the oldest is ended',
  },
  handshakeTimeout: {
    type: durationFrom({ min: '100ms', max: '1h' }),
    default: 32_000,
    what: 'time of a TLS handshake',
    beyond: 'the connection is closed',
  },
  idleTimeout: {
    type: durationFrom({ min: '100ms', max: '24h' }),
    default: 90_000,
    what: 'time of a connection without a request',
    beyond: 'it is closed',
    isOrdinary: true,
  },
  requestReadTimeout: {
    type: durationFrom({ min: '100ms', max: '1h' }),
    default: 60_000,
    what: 'time in which a client sends the head and the body of a request',
    beyond: 'HTTP/1.1 gets 408, an HTTP/2 stream is reset, and a connection without a complete head is closed',
  },
  http2MaxStreamsPerConnection: {
    type: number(1, 1_000_000),
    default: 10_000,
    what: 'HTTP/2 streams of a connection after valid credentials',
    beyond: 'the stream is refused (REFUSED_STREAM)',
  },
  http2MaxStreamsPerAnonymousConnection: {
    type: number(1, 1_000_000),
    default: 100,
    what: 'HTTP/2 streams of a connection without valid credentials',
    beyond: 'the stream is refused (REFUSED_STREAM)',
  },
  maxRequestsInflight: {
    type: number(1, 100_000),
    default: 600,
    what: 'requests answered at a time, watches and the like left out; priority levels share them',
    beyond: 'they wait for 15 s and then get 429',
  },
  maxRequestsPerConnection: {
    type: number(10, 100_000),
    default: 100,
    what: 'requests of a connection answered at a time, watches and the like left out; a list counts as ten',
    beyond: 'they wait',
    isOrdinary: true,
  },
  maxRequestBodyBytes: {
    type: bytes(64 * KiB, 64 * MiB),
    default: 3 * MiB,
    what: 'bytes of the body of a request',
    beyond: 'it gets 413',
  },
  maxRequestBodyBytesPerUser: {
    type: bytes(64 * KiB, 64 * GiB),
    default: 16 * MiB,
    what: 'bytes of the bodies of 8 KiB and more that a user sends at a time',
    beyond: 'the request gets 429 with Retry-After',
  },
  maxRequestBodyValues: {
    type: number(1_000, 100_000_000),
    default: defaultWorkLimits.bodyValues,
    what: 'objects, lists and their members in the body of a request; an object in a list counts for a quarter of the fields of its type',
    beyond: 'it gets 413',
  },
  maxUnreadBytesPerConnection: {
    type: bytes(64 * KiB, GiB),
    default: 16 * MiB,
    what: 'bytes of answers that a connection has not read',
    beyond: 'its requests wait',
  },
  maxUnreadBytes: {
    type: bytes(MiB, 64 * GiB),
    default: 256 * MiB,
    what: 'bytes of answers that all clients have not read; the same of events of watches',
    beyond: 'requests wait; watches that have left more than their share are cut off',
  },
  maxUnreadBytesPerWatch: {
    type: bytes(64 * KiB, GiB),
    default: 8 * MiB,
    what: 'bytes of events that a watch has not read',
    beyond: 'it is cut off',
  },
  maxStatusCauseBytes: {
    type: bytes(KiB, 64 * MiB),
    default: defaultWorkLimits.causeBytes,
    what: 'bytes of the causes in a Status that refuses a request, and half of those of its message',
    beyond: 'the rest is counted and left out',
  },
  maxSchemaSteps: {
    type: number(1_000, 100_000_000),
    default: defaultWorkLimits.schemaSteps,
    what: 'values of a custom resource, each counted for each schema that it is held against',
    beyond: 'the check ends, and the object is refused',
  },
  maxCelSteps: {
    type: number(1_000, 100_000_000),
    default: defaultWorkLimits.celSteps,
    what: "cost of one evaluation of a CEL expression, in Kubernetes' units; ten times as much for all of one object",
    beyond: 'it fails: "actual cost limit exceeded"',
  },
  unreadTimeout: {
    type: durationFrom({ min: '100ms', max: '24h' }),
    default: 60_000,
    what: 'time in which a client reads nothing of its answer',
    beyond: 'the answer is cut off',
  },
})

/** Holds the limits of the protocol and the machine. */
const fixed = rows({
  smallBody: {
    default: 128 * KiB,
    shown: '128 KiB',
    what: 'bytes of the body of a delete, a review, a binding, an eviction, a scale or a request for a token',
    beyond: 'it gets 413',
  },
  requestHead: {
    default: 64 * KiB,
    shown: '64 KiB',
    what: 'bytes of the head of a request',
    beyond: 'it gets 431; an endless one ends the connection',
  },
  uselessFrames: {
    default: 10_000,
    shown: '10,000 at once, 1,000 a second',
    what: 'HTTP/2 frames without use, and resets of streams',
    beyond: 'the connection ends (ENHANCE_YOUR_CALM)',
  },
  managedFields: {
    default: maxManagedFields,
    shown: '50,000',
    what: 'fields of an object whose owners are kept in `metadata.managedFields`',
    beyond: 'a create or an update keeps none, and a server-side apply gets 413',
  },
  schemaDefaults: {
    default: maxDefaultBytes,
    shown: '3 MiB',
    what: 'bytes that the defaults of its schema add to a custom resource',
    beyond: 'the write gets 400',
  },
  storedObject: {
    default: defaultWorkLimits.objectBytes,
    shown: 'three times `maxRequestBodyBytes`',
    what: 'bytes of an object as it is stored, with its managedFields',
    beyond: 'the write gets 413',
  },
  heap: {
    default: 80,
    shown: '80 %; 90 %',
    what: 'use of the heap',
    beyond: 'lists get 429 with Retry-After; then all requests but deletes',
  },
})

export type SettableLimit = keyof typeof settable
export type LimitName = SettableLimit | keyof typeof fixed
/** Counts, bytes, and milliseconds. */
export type Limits = Record<SettableLimit, number>

export const limitTable: Readonly<Record<LimitName, LimitRow>> = { ...settable, ...fixed }

const entries = Object.entries(settable) as [SettableLimit, LimitRow & { type: OptionType<number> }][]
const byName = <Value>(value: (row: LimitRow & { type: OptionType<number> }) => Value): Record<SettableLimit, Value> =>
  Object.fromEntries(entries.map(([name, row]) => [name, value(row)])) as Record<SettableLimit, Value>

export const defaultLimits: Limits = byName((row) => row.default)

export const limitOptions: Record<SettableLimit, Option<number>> = byName(({ type, default: value, what, beyond }) => ({
  type,
  default: value,
  help: `${what.charAt(0).toUpperCase()}${what.slice(1)}; beyond, ${beyond}`,
}))

/** Picks the limits that `settings` gives, and takes the default for each other limit. */
export const limitsOf = (settings: Partial<Limits>): Limits => ({
  ...defaultLimits,
  ...Object.fromEntries(entries.flatMap(([name]) => (settings[name] === undefined ? [] : [[name, settings[name]]]))),
})

/** An object may grow by patches, and by its managedFields. */
const storedPerBody = 3

/** Returns the limits of those parts of a server that know no HTTP. */
export const workLimitsOf = (limits: Limits): WorkLimits => ({
  celSteps: limits.maxCelSteps,
  bodyValues: limits.maxRequestBodyValues,
  schemaSteps: limits.maxSchemaSteps,
  objectBytes: storedPerBody * limits.maxRequestBodyBytes,
  causeBytes: limits.maxStatusCauseBytes,
})
