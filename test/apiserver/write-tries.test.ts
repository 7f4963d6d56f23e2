import t from 'tap'
import type { ResourceDefinition } from '../../apiserver/kind/resource-definition.ts'
import type { ObjectScope } from '../../apiserver/registry/write-context.ts'
import { WriteTries } from '../../apiserver/registry/writes/write-tries.ts'
import { createMemoryStorage } from '../../apiserver/storage/memory.ts'
import type { StatusError } from '../../shared/api/status/status-error.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'
import { KeyedTurns } from '../../shared/concurrency/keyed-turns.ts'

const definition = { group: 'apps', version: 'v1', kind: 'Deployment', plural: 'deployments' } as ResourceDefinition
const scope = {
  definition,
  namespace: 'default',
  name: 'web',
  user: { name: 'me', groups: [] },
} as unknown as ObjectScope

function thrown(tries: WriteTries): unknown {
  try {
    tries.lost(scope)
  } catch (error) {
    return (error as StatusError).status
  }
  return undefined
}

t.test('of one server: few tries, then a conflict', async (t) => {
  const tries = new WriteTries({ storage: createMemoryStorage(), clock: createVirtualClock(), turns: new KeyedTurns() })
  for (let count = 1; count < 5; count++) tries.lost(scope)
  t.match(thrown(tries), {
    code: 409,
    reason: 'Conflict',
    message: /^Operation cannot be fulfilled on deployments.apps "web": /,
  })
})

t.test('of several servers: as many as there is time for, then what a real server says', async (t) => {
  const clock = createVirtualClock()
  const storage = { ...createMemoryStorage(), catchUp: async () => true }
  const tries = new WriteTries({ storage, clock, turns: new KeyedTurns() })
  for (let count = 0; count < 1000; count++) tries.lost(scope)
  await clock.advance(33_000)
  tries.lost(scope)
  await clock.advance(1_000)
  t.match(thrown(tries), {
    code: 504,
    reason: 'Timeout',
    message: 'Timeout: request did not complete within requested timeout - context deadline exceeded',
  })
})
