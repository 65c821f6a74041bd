const base = 'https://agent-plugins.org/schemas/1.0.0';

/** Manifests that can be installed here, by their `$schema`; none is ever fetched (UP-01, UP-21). */
export const pluginSchemas: readonly string[] = [`${base}/plugin.schema.json`];
/** Of the server list that belongs to such a manifest (UP-30). */
export const pluginServersSchema = `${base}/mcp.schema.json`;
