import { bindingKind } from './rbac-binding.ts'

export const rolebinding = bindingKind(true)
