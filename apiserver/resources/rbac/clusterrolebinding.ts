import { bindingKind } from '../parts/rbac-binding.ts'

export const clusterrolebinding = bindingKind(false)
