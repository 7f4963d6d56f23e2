import { bindingKind } from '../parts/rbac-binding.ts'

export const rolebinding = bindingKind(true)
