# The command line of Sluice as an image: docker build -t sluice . && docker run --rm sluice --help
FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
RUN npm run build

FROM node:24-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev

FROM node:24-slim
LABEL org.opencontainers.image.title="sluice" \
      org.opencontainers.image.description="Moves Kafka topics into Apache Iceberg tables, exactly once and with proof." \
      org.opencontainers.image.licenses="Apache-2.0"
ENV NODE_ENV=production
WORKDIR /app
COPY --from=packages /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json LICENSE ./
COPY bin ./bin
COPY examples ./examples
RUN ln -s /app/bin/sluice.js /usr/local/bin/sluice \
    && mkdir -p /data && chown node:node /data
USER node
WORKDIR /data
VOLUME /data
STOPSIGNAL SIGTERM
ENTRYPOINT ["sluice"]
CMD ["--help"]
