import t from 'tap'
import { createInformers } from '../../controllers/informers/informers.ts'
import type { Client } from '../../shared/client/client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'

t.test('a loop that asks for whole objects of a kind that is kept as metadata does not start', async (t) => {
  const informers = createInformers({ client: {} as Client, clock: realClock, log: { debug() {} } as never })
  const leases = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases' }
  t.throws(() => informers.whole(leases), {
    message:
      'informers keep the metadata of coordination.k8s.io/leases alone: add it to controllers/informers/informers.ts',
  })
  await informers.close()
})
