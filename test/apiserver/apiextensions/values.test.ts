/** Every object of a custom resource that a real server was sent, decoded and held against its schema without a server. */

import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { rulesOf } from '../../../apiserver/apiextensions/cel/rule-check.ts'
import { customResource } from '../../../apiserver/apiextensions/custom-resource.ts'
import type { CustomResourceDefinition } from '../../../apiserver/apiextensions/custom-resource-definition.ts'
import { customresourcedefinition } from '../../../apiserver/resources/apiextensions/customresourcedefinition.ts'
import { sortedJson } from '../../../apiserver/schema/list-types.ts'
import { DecodeError } from '../../../apiserver/validation/decoder.ts'
import { errorBody } from '../../../apiserver/validation/field-error.ts'
import type { FieldError } from '../../../apiserver/validation/field-errors.ts'
import { defaultWorkLimits } from '../../../apiserver/work-limits.ts'
import { parseExact, toJson } from '../../../shared/api/json/exact-json.ts'
import { defaultFeatureGates } from '../../../shared/config/feature-gates.ts'

interface Answer {
  status: number
  headers?: Record<string, string>
  body?: {
    message?: string
    details?: { causes?: { reason: string; field: string; message: string }[] }
    spec?: unknown
    status?: unknown
  }
}
interface Step {
  method?: string
  path?: string
  body?: Record<string, unknown>
  raw?: string
  type?: string
  answer?: Answer
}
const scenarios = parseExact(
  readFileSync(new URL('../../golden/api/crd.json', import.meta.url), 'utf8').replaceAll('{{ns}}', 'ns'),
) as { name: string; steps: Step[] }[]

const context = { nowMs: 0, featureGates: defaultFeatureGates, limits: defaultWorkLimits }

/** The recordings show no instants. */
const untimed = (text: string): string => text.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, '<time>')

for (const { name, steps } of scenarios) {
  if (!name.startsWith('custom:') || /another version|apply|patches|duplicate keys/.test(name)) continue
  const created = steps.find((step) => step.body?.kind === 'CustomResourceDefinition')
  if (created === undefined) continue
  const crd = created.body as unknown as CustomResourceDefinition
  customresourcedefinition.strategy.applyDefaults?.(crd, context)
  t.test(name, async (t) => {
    for (const step of steps) {
      const { answer } = step
      if (step.method !== 'POST' || step === created || answer === undefined || step.type === 'application/yaml')
        continue
      const version = crd.spec.versions?.find((candidate) => step.path?.includes(`/${candidate.name}/`))
      if (version === undefined) continue
      const definition = customResource(crd, version, {
        writtenUnderSchemaSince: 0,
        isTerminating: () => false,
        rulesOf,
        limits: defaultWorkLimits,
      })
      const body = (step.body ?? parseExact(step.raw ?? '')) as Record<string, unknown>
      checkAnswer(t, definition, structuredClone(body), answer)
    }
  })
}

function checkAnswer(
  t: Test,
  definition: ReturnType<typeof customResource>,
  body: Record<string, unknown>,
  answer: Answer,
): void {
  const text = toJson(body.spec)
  let decoded: ReturnType<NonNullable<typeof definition.custom>['decode']> | undefined
  try {
    decoded = definition.custom?.decode(body)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    t.ok(answer.status === 400 && answer.body?.message?.includes(error.message), `${text}: ${error.message}`)
    return
  }
  if (decoded === undefined || answer.status === 400) return
  const warnings = decoded.strictErrors.map((warning) => `299 - ${JSON.stringify(warning)}`).join(', ')
  if (answer.headers?.warning !== undefined) t.equal(warnings, answer.headers.warning, `${text}: warnings`)
  const { object } = decoded
  const errors: FieldError[] = []
  definition.strategy.prepareForCreate?.(object, context)
  definition.strategy.validate?.(object, errors, context)
  const found = errors.map((error) => untimed(`${error.field}|${error.type}|${errorBody(error)}`)).sort()
  const wanted = (answer.body?.details?.causes ?? [])
    .map((cause) => `${cause.field}|${cause.reason}|${cause.message}`)
    .sort()
  t.strictSame(found, answer.status === 201 ? [] : wanted, `${text}: causes`)
  if (answer.status === 201 && answer.body !== undefined) {
    t.equal(untimed(sortedJson(object.spec ?? null)), sortedJson(answer.body.spec ?? null), `${text}: spec`)
    t.equal(sortedJson(object.status ?? null), sortedJson(answer.body.status ?? null), `${text}: status`)
  }
}
