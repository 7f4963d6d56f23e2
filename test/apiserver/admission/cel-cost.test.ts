/** What policies and match conditions may cost for one request. Upstream refuses none of them for an estimate. */
import t from 'tap'
import { allHold } from '../../../apiserver/admission/cel/match-conditions.ts'
import { findings } from '../../../apiserver/admission/policies/evaluate.ts'
import type { ValidatingAdmissionPolicy } from '../../../apiserver/admission/policies/policy.ts'
import { defaultWorkLimits } from '../../../apiserver/work-limits.ts'

const { celSteps } = defaultWorkLimits

const words = Array.from({ length: 100_000 }, (_, index) => `w${index}`)
const known = { object: words }
const OUT_OF_BUDGET = 'validation failed due to running out of cost budget, no further validation rules will be run'
/** Each costs some 700,000. */
const expensive = (index: number): { name: string; expression: string } => ({
  name: `e${index}`,
  expression: `object.all(a, a != "" && a.size() > 0) && ${index} >= 0`,
})
const many = (count: number): ReturnType<typeof expensive>[] => Array.from({ length: count }, (_, i) => expensive(i))
const policy = (spec: object): ValidatingAdmissionPolicy =>
  ({ metadata: { name: 'p' }, spec: { failurePolicy: 'Fail', ...spec } }) as unknown as ValidatingAdmissionPolicy

t.test('validations share a budget', async (t) => {
  t.strictSame(findings(policy({ validations: many(9) }), known, celSteps).violations, [])
  t.match(findings(policy({ validations: many(16) }), known, celSteps).violations, [
    { message: OUT_OF_BUDGET, limit: 'maxCelSteps' },
  ])
  t.strictSame(findings(policy({ validations: many(16), failurePolicy: 'Ignore' }), known, celSteps).violations, [])
})

t.test('variables are paid by the budget', async (t) => {
  const variables = many(16)
  const expression = variables.map(({ name }) => `variables.${name}`).join(' && ')
  t.match(findings(policy({ variables, validations: [{ expression }] }), known, celSteps).violations, [
    { message: OUT_OF_BUDGET },
  ])
})

t.test('messages are paid by the budget', async (t) => {
  const messageExpression = "object.all(a, a != '') ? 'long' : 'short'"
  const validations = Array.from({ length: 30 }, () => ({ expression: 'false', messageExpression }))
  t.match(findings(policy({ validations }), known, celSteps).violations, [
    { message: `failed messageExpression: ${OUT_OF_BUDGET}` },
  ])
})

t.test('match conditions share a smaller one', async (t) => {
  t.equal(allHold(many(2), known, celSteps), true)
  t.throws(() => allHold(many(5), known, celSteps), { message: OUT_OF_BUDGET })
  t.throws(() => allHold([{ expression: 'object.all(a, object.all(b, a != b || true))' }], known, celSteps), {
    message: /resulted in error: operation cancelled: actual cost limit exceeded/,
  })
})
