/** Labels a node whose pods have networks of their own with `pod`. */
export const NETWORK_LABEL = 'kubestage.dev/network'

/** Labels a node with the kind of its tunnel to nodes of other machines. */
export const TUNNEL_LABEL = 'kubestage.dev/pod-tunnel'

export const TUNNEL_SELECTOR = `${TUNNEL_LABEL}=vxlan`

/** Labels it with the name of the link by which its machine reaches these networks, where it does. */
export const LINK_LABEL = 'kubestage.dev/network-link'
