# syntax=docker/dockerfile:1
# One image for every role; ROLES says which (docs/operations/README.md).

FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci
COPY tsconfig.json ./
COPY commands commands
COPY projections projections
COPY queries queries
COPY src src
COPY demo demo
COPY till till
COPY tools/compiled.cjs tools/till-app.cjs tools/
RUN npm run -s build

FROM node:24-slim AS modules
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev

FROM node:24-slim
ENV NODE_ENV=production \
    DATA_DIR=/data
# What the service writes itself: demo.json, the master key, and the key and files of seals.
RUN install --directory --owner=node --group=node --mode=0700 /data
VOLUME /data
WORKDIR /app
COPY --from=modules /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json ./
# Migrations are read where they are written; they are not part of dist.
COPY src/postgres/migrations src/postgres/migrations
# So are the files that pages load.
COPY src/http/static src/http/static
COPY src/panel/static src/panel/static
COPY src/public/checkout/static src/public/checkout/static
COPY src/public/front/static src/public/front/static
COPY src/public/receipt/static src/public/receipt/static
# What auditors are given.
COPY verifier verifier
COPY docs/proof.md docs/proof.md
# The guides at /docs.
COPY docs/integrators.md docs/agents.md docs/webhooks.md docs/pos-sync.md docs/online-store.md docs/
COPY docs/guias docs/guias
USER node
EXPOSE 3000
# The first start, and one after an update, may have tables to make: it is not ready before that, and need not be restarted.
HEALTHCHECK --interval=5s --timeout=5s --start-period=5m --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 3000}/health/ready`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/src/start.js"]
