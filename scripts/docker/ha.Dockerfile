# etcd and a balancer, for docker-compose.ha.yml. Any image with Debian's packages will do.
ARG NODE_IMAGE=node:26-bookworm-slim
FROM ${NODE_IMAGE}
RUN apt-get update && apt-get install --yes --no-install-recommends etcd-server haproxy \
  && rm -rf /var/lib/apt/lists/* && install -d -o 1000 -g 1000 -m 700 /var/lib/etcd
