import { Functions } from '../overloads.ts'
import { AUTHORIZER } from './authorizer.ts'
import { COLLECTIONS } from './collections.ts'
import { KUBERNETES } from './kubernetes.ts'
import { STANDARD } from './standard.ts'
import { TEXT } from './text.ts'
import { TIME } from './time.ts'

export const standardTables = [STANDARD, TIME, TEXT, COLLECTIONS, KUBERNETES, AUTHORIZER]
/** Every function that an expression may call. */
export const functions = new Functions(...standardTables)
