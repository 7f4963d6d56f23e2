import type { AdmissionAttributes } from '../../registry/admission-plugin.ts'

const excluded = new Set([
  'authentication.k8s.io/selfsubjectreviews',
  'authentication.k8s.io/tokenreviews',
  'authorization.k8s.io/localsubjectaccessreviews',
  'authorization.k8s.io/selfsubjectaccessreviews',
  'authorization.k8s.io/selfsubjectrulesreviews',
  'authorization.k8s.io/subjectaccessreviews',
])

/** Policies do not apply to authentication and authorization reviews. */
export const evaluable = ({ definition: { group, plural } }: AdmissionAttributes): boolean =>
  !excluded.has(`${group}/${plural}`)
