import { attackFaults } from './attack-faults.ts'
import { type Fault, faults } from './faults.ts'

/** Everything that may befall a cluster. */
export const allFaults: readonly Fault[] = [...faults, ...attackFaults]
