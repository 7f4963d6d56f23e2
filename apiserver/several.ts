/** What a server needs besides where other servers have the same objects. Loaded only there. */
import { ServiceClaims } from './allocation/service-claims.ts'

export const serviceClaims = (options: ConstructorParameters<typeof ServiceClaims>[0]): ServiceClaims =>
  new ServiceClaims(options)
