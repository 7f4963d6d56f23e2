/** Every CustomResourceDefinition that a real server refused or took, held against our rules without a server. */

import { readFileSync } from 'node:fs'
import t from 'tap'
import type { CustomResourceDefinition } from '../../../apiserver/apiextensions/custom-resource-definition.ts'
import { customresourcedefinition } from '../../../apiserver/resources/apiextensions/customresourcedefinition.ts'
import { errorBody } from '../../../apiserver/validation/field-error.ts'
import type { FieldError } from '../../../apiserver/validation/field-errors.ts'
import { dns1123Subdomain } from '../../../apiserver/validation/names.ts'
import { defaultWorkLimits } from '../../../apiserver/work-limits.ts'
import { defaultFeatureGates } from '../../../shared/config/feature-gates.ts'

interface Step {
  method?: string
  body?: CustomResourceDefinition
  answer?: { status: number; body?: { details?: { causes?: { reason: string; field: string; message: string }[] } } }
}
interface Scenario {
  name: string
  steps: Step[]
}
const recordings = (file: string): Scenario[] =>
  JSON.parse(
    readFileSync(new URL(`../../golden/api/${file}`, import.meta.url), 'utf8').replaceAll('{{ns}}', 'ns'),
  ) as Scenario[]

const context = { nowMs: 0, featureGates: defaultFeatureGates, limits: defaultWorkLimits }
function refusals(body: CustomResourceDefinition): string[] {
  const crd = structuredClone(body)
  crd.spec.names ??= { plural: '', kind: '' }
  const { strategy } = customresourcedefinition
  strategy.applyDefaults?.(crd, context)
  strategy.prepareForCreate?.(crd, context)
  const errors: FieldError[] = []
  const messages = dns1123Subdomain(crd.metadata.name ?? '')
  errors.push(
    ...messages.map(
      (detail): FieldError => ({ type: 'FieldValueInvalid', field: 'metadata.name', value: crd.metadata.name, detail }),
    ),
  )
  strategy.validate?.(crd, errors, context)
  return errors.map((error) => `${error.field}|${error.type}|${errorBody(error)}`).sort()
}
for (const scenario of [...recordings('crd.json'), ...recordings('kind-validation.json')]) {
  const creates = scenario.steps.filter(
    (step) => step.method === 'POST' && step.body?.kind === 'CustomResourceDefinition' && step.answer !== undefined,
  )
  if (creates.length === 0) continue
  t.test(scenario.name, async (t) => {
    for (const step of creates) {
      const found = refusals(step.body as CustomResourceDefinition)
      const causes = step.answer?.body?.details?.causes ?? []
      const wanted = causes.map((cause) => `${cause.field}|${cause.reason}|${cause.message}`).sort()
      t.strictSame(found, wanted, `${step.body?.metadata.name}: causes`)
    }
  })
}

t.test('a definition without versions', async (t) => {
  const crd = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'empties.example.com' },
    spec: { group: 'example.com', scope: 'Namespaced', names: { plural: 'empties', kind: 'Empty' } },
  } as CustomResourceDefinition
  t.match(refusals(crd), [
    'spec.versions|FieldValueInvalid|Invalid value: null: must have exactly one version marked as storage version',
  ])
})
