/** What a real server said of rules that use all of the language and its libraries, compared with Kubestage's answers. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { rulesOf } from '../../../apiserver/apiextensions/cel/rule-check.ts'
import { compileRules } from '../../../apiserver/apiextensions/cel/rule-compiler.ts'
import type { JSONSchemaProps } from '../../../apiserver/schema/json-schema.ts'
import { defaultWorkLimits } from '../../../apiserver/work-limits.ts'

const recorded = JSON.parse(readFileSync(new URL('../../golden/cel/rules.json', import.meta.url), 'utf8')) as {
  schema: JSONSchemaProps
  /** Of an object, beside its apiVersion, kind and name. */
  value: Record<string, unknown>
  /** `holds`, `fails`, `error: …` of the evaluation, or `refused: …` when the definition is written. */
  answers: Record<string, string>
}
/** Those that we do not answer equally yet; this list only shrinks. */
const later = new Set([
  // A second syntax error, after the first.
  "self.nested.in == 'z'",
  // Messages of protobuf.
  "google.protobuf.Duration{seconds: 1} == duration('1s')",
])

const object = { apiVersion: 'probes.example.com/v1', kind: 'Probe', metadata: { name: 'p' }, ...recorded.value }

function answer(rule: string): string {
  const schema: JSONSchemaProps = { ...recorded.schema, 'x-kubernetes-validations': [{ rule }] }
  for (const compiled of compileRules(schema, true).rules)
    if (!('holds' in compiled)) return `refused: ${compiled.text}`.replace(/selfType\d+/g, 'selfType')
  const [error] = rulesOf(schema, defaultWorkLimits.celSteps)?.(object, undefined, schema, '') ?? []
  if (error === undefined) return 'holds'
  const detail = error.detail ?? ''
  if (detail === `failed rule: ${rule.trim()}`) return 'fails'
  return `error: ${detail.slice(0, -rule.trim().length).replace(/ evaluating rule: $/, '')}`
}

for (const [rule, said] of Object.entries(recorded.answers)) {
  if (later.has(rule)) t.not(answer(rule), said, `${rule} is answered equally by now`)
  else t.equal(answer(rule), said, rule)
}
