import { toJson } from '../../shared/api/json/exact-json.ts'
import { StatusError } from '../../shared/api/status/status-error.ts'
import type { KubeObject } from '../../shared/api/types.ts'
import { ConversionError, type KindVersions, type ManagedKind } from '../patch/managed-kind.ts'
import type { JsonMap } from '../values/json-map.ts'
import type { ConversionWebhook } from './resource-definition.ts'

/** Thrown where a webhook has not converted an object yet. */
class NotAsked extends Error {
  readonly question: Question

  constructor(question: Question) {
    super('the webhook has not been asked')
    this.question = question
  }
}

interface Question {
  key: string
  object: JsonMap
  from: string
  to: string
}

/**
 * Computes what needs conversions that a webhook makes. Field management waits for nothing: it begins again after each
 * answer, and then has that one. An object is asked for once in each version.
 */
export async function withAskedConversions<Result>(
  kind: ManagedKind,
  webhook: ConversionWebhook,
  compute: (kind: ManagedKind) => Result,
): Promise<Result> {
  const answers = new Map<string, Answer>()
  const versions = kind.versions!
  const convert: KindVersions['convert'] = (object, from, to) => {
    if (!versions.type(to)) return versions.convert(object, from, to)
    const key = `${from} ${to} ${toJson(object)}`
    const answer = answers.get(key)
    if (!answer) throw new NotAsked({ key, object, from, to })
    if (answer instanceof ConversionError) throw answer
    return versions.convert(answer, from, to)
  }
  const asking = { ...kind, versions: { ...versions, convert } }
  for (;;) {
    try {
      return compute(asking)
    } catch (error) {
      if (!(error instanceof NotAsked)) throw error
      answers.set(error.question.key, await answerTo(webhook, error.question))
    }
  }
}

type Answer = JsonMap | ConversionError
async function answerTo(webhook: ConversionWebhook, { object, from, to }: Question): Promise<Answer> {
  try {
    return (await webhook.between(object as unknown as KubeObject, from, to)) as unknown as JsonMap
  } catch (error) {
    if (error instanceof StatusError) return new ConversionError(error.message)
    throw error
  }
}
