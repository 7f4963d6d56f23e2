import type { AdmissionAttributes } from '../admission-plugin.ts'

const excluded = new Set([
  'authentication.k8s.io/selfsubjectreviews',
  'authentication.k8s.io/tokenreviews',
  'authorization.k8s.io/localsubjectaccessreviews',
  'authorization.k8s.io/selfsubjectaccessreviews',
  'authorization.k8s.io/selfsubjectrulesreviews',
  'authorization.k8s.io/subjectaccessreviews',
])

/** Policies have no say in who may do what. */
export const evaluable = ({ definition: { group, plural } }: AdmissionAttributes): boolean =>
  !excluded.has(`${group}/${plural}`)
