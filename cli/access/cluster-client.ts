import { StatusError } from '../../shared/api/status/status-error.ts'
import { type ClusterAccess, createRestClient, type ServerClient } from '../../shared/client/rest-client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { ConfigError } from '../../shared/config/option.ts'
import { accessTo, type Place } from './cluster-access.ts'

/** Speaks to the cluster that is meant, as its administrator. What it refuses is one sentence in its words. */
export async function withClient<Result>(
  place: Place,
  use: (client: ServerClient, access: ClusterAccess) => Promise<Result>,
): Promise<Result> {
  const access = await accessTo(place)
  const client = createRestClient({ ...access, clock: realClock })
  try {
    return await use(client, access)
  } catch (error) {
    throw inOwnWords(error as Error, access)
  } finally {
    await client.close()
  }
}

function inOwnWords(error: Error, { server }: ClusterAccess): Error {
  if (error instanceof ConfigError || error instanceof TypeError) return error
  if (error instanceof StatusError) return new ConfigError(error.message)
  return new ConfigError(`the API server ${server} cannot be reached: ${error.message}`)
}
