import type { DiscoveredResources } from '../controllers/discovered-resources.ts'
import type { ServerClient } from '../shared/client/rest-client.ts'
import type { Clock } from '../shared/clock/clock.ts'
import { withinLimit } from '../shared/clock/within-limit.ts'
import { ConfigError } from '../shared/config/option.ts'
import type { Log } from '../shared/log/log.ts'

/** Limits how long a start waits for the API server, which may be starting as well. */
const patienceMs = 60_000
const betweenMs = 500

/** Resolves when a server answers, and it is known what it serves; rejects with a sentence after a minute. */
export async function awaitServer(
  { client, resources }: { client: ServerClient; resources: DiscoveredResources },
  { place, clock: { machine }, log }: { place: string; clock: Clock; log: Log },
): Promise<void> {
  const deadline = machine.monotonic() + patienceMs
  for (let tries = 0; ; tries++) {
    try {
      const { gitVersion } = await client.version()
      log.info({ server: place, version: gitVersion }, 'the API server answers')
      break
    } catch (error) {
      const { message } = error as Error
      if (machine.monotonic() > deadline)
        throw new ConfigError(`the API server at ${place} does not answer: ${message}`)
      if (tries === 0) log.info({ server: place, error: message }, 'waiting for the API server')
      await machine.sleep(betweenMs)
    }
  }
  if (await withinLimit(resources.synced(), patienceMs, machine)) return
  throw new ConfigError(
    `the API server at ${place} does not answer discovery requests; check that this user may read /apis`,
  )
}
