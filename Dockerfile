# All of Kubestage in one image: `docker run` starts a whole cluster, docker-compose.yml its halves.
# Any image with Node 26 and npm on a glibc Linux with bash will do.
ARG NODE_IMAGE=node:26-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /opt/kubestage
# Where something between here and the registry signs with a CA of its own: its certificates in PEM.
ARG EXTRA_CA_CERTS=
RUN [ -z "$EXTRA_CA_CERTS" ] || printf '%s\n' "$EXTRA_CA_CERTS" >/opt/extra-ca.crt
ENV NODE_EXTRA_CA_CERTS=/opt/extra-ca.crt
COPY package.json package-lock.json ./
COPY bin/node/package.json bin/node/
COPY scripts/build/needed-packages.mjs scripts/build/
# Without the Node that a checkout brings along: the image has its own.
RUN node scripts/build/needed-packages.mjs && npm ci --ignore-scripts --workspaces=false
COPY . .
# What npm would ship, with the one package that is not bundled beside it, and with what makes a container of it.
RUN npm pack && tar xzf kubestage-*.tgz && mkdir package/node_modules package/scripts \
  && mv node_modules/re2js package/node_modules/ && mv scripts/docker package/scripts/

FROM ${NODE_IMAGE}
COPY --from=build /opt/kubestage/package /opt/kubestage
RUN ln -s /opt/kubestage/bin/kubestage.mjs /usr/local/bin/kubestage \
  && install -d -o 1000 -g 1000 -m 700 /var/lib/kubestage /var/lib/kubestage-join \
  && install -d -m 755 /kubeconfig
# Kept by whoever names a volume for it: certificates and objects.
VOLUME /var/lib/kubestage
EXPOSE 6443
STOPSIGNAL SIGTERM
ENTRYPOINT ["/opt/kubestage/scripts/docker/entrypoint.sh"]
CMD ["up"]
HEALTHCHECK --interval=5s --timeout=3s --start-period=10s CMD ["/opt/kubestage/scripts/docker/healthcheck.mjs"]
