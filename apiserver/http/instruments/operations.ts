import { badRequest } from '../../../shared/api/status/status-errors.ts'
import { durationMs } from '../../../shared/config/option-types.ts'
import type { FaultRule } from '../../instruments/faults.ts'
import { filterFields, parseFilter, type RequestFilter } from '../../instruments/request-filter.ts'
import type { ApiContext } from '../api-context.ts'
import type { Operation } from './wanted.ts'

/** The instruments that all servers of a store have together, by paths and methods. */
export function operationsOf(api: ApiContext): Readonly<Record<string, Readonly<Record<string, Operation>>>> {
  const { journal, faults, snapshots, time } = api.instruments
  return {
    '/journal': {
      GET: ({ query }) => ({ kept: journal.kept, items: journal.entries(filterOf(query)) }),
      PUT: async ({ body }) => {
        const { kept } = await body()
        if (!Number.isSafeInteger(kept) || Number(kept) < 0) throw badRequest('kept must be a whole number from 0 on')
        journal.keep(Number(kept))
        return { kept }
      },
      DELETE: () => {
        journal.clear()
        return { kept: journal.kept }
      },
    },
    '/faults': {
      GET: () => ({ items: faults.list() }),
      POST: async ({ body }) => faults.add((await body()) as unknown as FaultRule),
      DELETE: () => {
        faults.clear()
        return { items: faults.list() }
      },
    },
    '/faults/:id': {
      DELETE: ({ params }) => {
        faults.remove(Number(params.id))
        return { items: faults.list() }
      },
    },
    '/reset': {
      POST: () => {
        faults.clear()
        journal.clear()
        return snapshots.reset()
      },
    },
    '/clock': {
      GET: () => clockOf(api),
      POST: async ({ body, signal }) => {
        if (!time) throw badRequest('the time of this server cannot be moved')
        await time.advance(durationOf(await body()), signal)
        return clockOf(api)
      },
    },
  }
}

/** Throws a StatusError (400) for a field that is none of a filter. */
export const filterOf = (query: Pick<URLSearchParams, 'getAll'>): RequestFilter =>
  parseFilter(Object.fromEntries(filterFields.map((field) => [field, given(query.getAll(field))])))

const given = (values: string[]): string[] | undefined => (values.length === 0 ? undefined : values)

const clockOf = ({ clock, instruments }: ApiContext): object => ({
  now: new Date(clock.now()).toISOString(),
  scale: clock.scale,
  movedMs: instruments.time?.movedMs ?? 0,
})

function durationOf({ advance }: { advance?: unknown }): number {
  try {
    return durationMs(String(advance))
  } catch (error) {
    throw badRequest(`advance ${(error as Error).message}`)
  }
}
