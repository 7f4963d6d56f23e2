import type { ObjectMeta, Pod } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { secrets } from '../../shared/client/resources.ts'
import type { EventRecorder } from '../events/event-recorder.ts'
import { credentialsFor, type Keyring, readKeyring } from '../images/registry/credentials.ts'
import type { Credentials } from '../runtime/container-runtime.ts'
import { parseImageName } from '../runtime/images/image-name.ts'

interface PullSecretsOptions {
  client: Client
  events: EventRecorder
}

/** Secrets of these types hold credentials, under these keys. */
const keys: Readonly<Record<string, string>> = {
  'kubernetes.io/dockerconfigjson': '.dockerconfigjson',
  'kubernetes.io/dockercfg': '.dockercfg',
}

/** Reads the credentials that a pod has for registries, at the time of a pull. */
export class PullSecrets {
  readonly #options: PullSecretsOptions

  constructor(options: PullSecretsOptions) {
    this.#options = options
  }

  /** Returns those for an image. The server has given the pod the imagePullSecrets of its service account. */
  async for(pod: Pod, image: string): Promise<Credentials[]> {
    const { client, events } = this.#options
    const { namespace = '' } = pod.metadata
    const names = (pod.spec.imagePullSecrets ?? []).flatMap(({ name }) => name || [])
    const read = (name: string) => client.get<Secret>(secrets, { namespace, name }).catch(() => undefined)
    const found = await Promise.all(names.map(read))
    const missing = names.filter((_, index) => !found[index])
    if (missing.length > 0) {
      const what = `Unable to retrieve some image pull secrets (${missing.join(', ')})`
      events.podEvent(
        pod,
        undefined,
        'Warning',
        'FailedToRetrieveImagePullSecret',
        `${what}; attempting to pull the image may not succeed.`,
      )
    }
    return credentialsFor(found.flatMap(keyringIn), parseImageName(image))
  }
}

interface Secret {
  metadata: ObjectMeta
  type?: string
  data?: Record<string, string>
}

function keyringIn(secret: Secret | undefined): Keyring {
  const data = secret?.data?.[keys[secret.type ?? ''] ?? '']
  if (!secret || data === undefined) return []
  const { namespace = '', name = '', uid = '' } = secret.metadata
  const of = { namespace, name, uid }
  return readKeyring(Buffer.from(data, 'base64').toString()).map(({ place, credentials }) => ({
    place,
    credentials: { ...credentials, secret: of },
  }))
}
