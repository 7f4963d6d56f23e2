import { randomUUID } from 'node:crypto'
import { parseStored } from '../../../shared/api/json/exact-json.ts'
import { StatusError } from '../../../shared/api/status/status-error.ts'
import { plainError } from '../../../shared/api/status/status-errors.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import { CallError } from '../../../shared/client/call-errors.ts'
import { storageVersionIn } from '../../kind/storage-version.ts'
import { Unconverted } from '../../kind/unconverted.ts'
import { reviewVersion } from '../../validation/review-version.ts'
import type { ClientConfig } from '../../webhook-client/client-config.ts'
import type { WebhookClient } from '../../webhook-client/webhook-client.ts'
import { convertedObjects, reviewOf, typeOf } from './conversion-review.ts'

/** Forms of the latest writes that are remembered, until the caches have taken them in. */
const maxRemembered = 256
const timeoutSeconds = 30
const userAgent = 'kube-apiserver'

/** Holds the options for converting the versions of one custom resource by its webhook. */
export interface VersionWebhookOptions {
  client: WebhookClient
  clientConfig: ClientConfig
  reviewVersions: readonly string[]
  group: string
  kind: string
  /** Names the version of a stored value that does not say its own. */
  storage: string
}

/**
 * Asks a custom resource's conversion webhook. Reads never wait for it where that can be helped: a write is converted
 * to every served version before it is stored.
 */
export class VersionWebhook {
  readonly #options: VersionWebhookOptions
  /** Holds objects as the webhook has converted them, by stored value, then by version. */
  readonly #forms = new Map<string, Map<string, string | Unconverted>>()

  constructor(options: VersionWebhookOptions) {
    this.#options = options
  }

  /** Converts objects of `from`, without kind and apiVersion, to the version `to`. Rejects with a StatusError. */
  async convert(objects: readonly KubeObject[], from: string, to: string): Promise<KubeObject[]> {
    const { client, clientConfig, reviewVersions, group, kind } = this.#options
    if (from === to || objects.length === 0) return [...objects]
    const request = {
      uid: randomUUID(),
      version: reviewVersion(reviewVersions) ?? 'v1',
      desiredAPIVersion: `${group}/${to}`,
      objects: objects.map((object) => ({ ...object, kind, apiVersion: `${group}/${from}` })),
    }
    let answer: Record<string, unknown>
    try {
      answer = await client.post(clientConfig, reviewOf(request), { timeoutSeconds, userAgent })
    } catch (error) {
      if (!(error instanceof CallError)) throw error
      throw plainError(`conversion webhook for ${typeOf(request.objects)} failed: ${error.message}`)
    }
    return convertedObjects(answer, request).map(({ kind: _kind, apiVersion: _apiVersion, ...object }) => object)
  }

  /** Stored values in another version. Rejects with a StatusError. */
  async convertStored(
    values: readonly string[],
    to: string,
    encode: (object: KubeObject) => string,
  ): Promise<string[]> {
    const shown = new Map<string, string>()
    const versions = Map.groupBy(values, (value) => storageVersionIn({ value }) ?? this.#options.storage)
    for (const [from, stored] of versions) {
      const objects = stored.map((value) => parseStored(value) as KubeObject)
      const converted = await this.convert(objects, from, to)
      for (const [index, object] of converted.entries()) shown.set(stored[index]!, encode(object))
    }
    return values.map((value) => shown.get(value)!)
  }

  /**
   * Converts a value that is about to be stored to all served versions. A failed version fails only its own requests.
   */
  async announce(value: string, encoders: ReadonlyMap<string, (object: KubeObject) => string>): Promise<void> {
    const forms = new Map<string, string | Unconverted>()
    await Promise.all(
      [...encoders].map(async ([version, encode]) => {
        try {
          const [form] = await this.convertStored([value], version, encode)
          forms.set(version, form!)
        } catch (error) {
          if (!(error instanceof StatusError)) throw error
          forms.set(version, new Unconverted(error))
        }
      }),
    )
    if (this.#forms.size >= maxRemembered) this.#forms.delete(this.#forms.keys().next().value!)
    this.#forms.set(value, forms)
  }

  /** The form of a value, if it was announced a moment ago. */
  form(value: string, version: string): string | Unconverted {
    return this.#forms.get(value)?.get(version) ?? notYet
  }
}

/** For objects that were stored before the start, which the first read converts, and for those of other servers. */
const notYet = new Unconverted(plainError('conversion webhook has not been asked'), true)
