FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY . .
RUN node scripts/build.mjs && npm prune --omit=dev --ignore-scripts

FROM node:24-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json /app/LICENSE ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/proto ./proto
COPY --from=build /app/schema ./schema
COPY --from=build /app/dist ./dist
# Sockets for Envoy, sockets between workers and Envoy's configuration: the only place that is written to. Whoever mounts
# a volume here finds it with this owner.
RUN ln -s /app/dist/cli/main.js /usr/local/bin/tokenlat && mkdir -p /run/tokenlat && chown node:node /run/tokenlat
VOLUME /run/tokenlat
USER node
STOPSIGNAL SIGTERM
ENTRYPOINT ["tokenlat"]
CMD ["serve", "--config", "/etc/tokenlat/tokenlat.yaml", "--state", "/run/tokenlat/state"]
