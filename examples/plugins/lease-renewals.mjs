/** Every third renewal of a Lease fails with 503: does the client retry, or give its lead away? */
export default async function leaseRenewals(app) {
  let renewals = 0
  app.addHook('onRequest', async ({ kubernetes: { verb, resource } }) => {
    const renews = resource?.resource === 'leases' && (verb === 'update' || verb === 'patch')
    if (!renews) return
    renewals++
    if (renewals % 3 === 0) throw Object.assign(new Error('the third renewal fails on purpose'), { statusCode: 503 })
  })
}
