import type { TypeCheck } from '../controllers/policy-status.ts'

/** Loads the compiler of expressions when the first policy is checked. */
export const checkTypes: TypeCheck = async (policy, kinds, definitions) => {
  const { expressionWarnings } = await import('../apiserver/admission/policies/type-check.ts')
  return expressionWarnings(policy as Parameters<typeof expressionWarnings>[0], {
    kinds,
    customSchema({ group, version, kind }) {
      const definition = definitions.find(({ spec }) => spec.group === group && spec.names.kind === kind)
      const found = definition?.spec.versions.find(({ name }) => name === version)
      return found?.schema?.openAPIV3Schema as ReturnType<Parameters<typeof expressionWarnings>[1]['customSchema']>
    },
  })
}
