import type { CustomResourceDefinition } from './custom-resource-definition.ts'

export const APPROVAL_ANNOTATION = 'api-approved.kubernetes.io'
const PROTECTED_GROUP = /(^|\.)(k8s|kubernetes)\.io$/

/** Definitions in `*.k8s.io` and `*.kubernetes.io` need an annotation with their approval. */
export type Approval = 'not needed' | 'missing' | 'invalid' | 'unapproved' | 'approved'

export function approvalOf(crd: CustomResourceDefinition): Approval {
  if (!PROTECTED_GROUP.test(crd.spec.group)) return 'not needed'
  const annotation = crd.metadata.annotations?.[APPROVAL_ANNOTATION] ?? ''
  if (annotation === '') return 'missing'
  if (annotation.startsWith('unapproved')) return 'unapproved'
  return URL.canParse(annotation) && new URL(annotation).host !== '' ? 'approved' : 'invalid'
}
