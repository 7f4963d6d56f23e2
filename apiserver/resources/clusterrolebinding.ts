import { bindingKind } from './rbac-binding.ts'

export const clusterrolebinding = bindingKind(false)
