import type { Model } from '../model.ts';

/** One part of a model's stream. */
export type ModelPart =
  Awaited<ReturnType<Model['doStream']>>['stream'] extends ReadableStream<infer Part> ? Part : never;

/** The same model with its stream passed through a transform that is made anew for each call. */
export function mapParts(model: Model, transform: () => (part: ModelPart) => readonly ModelPart[]): Model {
  return {
    provider: model.provider,
    modelId: model.modelId,
    async doStream(options) {
      const map = transform();
      const result = await model.doStream(options);
      const parts = new TransformStream<ModelPart, ModelPart>({
        transform(part, controller) {
          for (const mapped of map(part)) controller.enqueue(mapped);
        },
      });
      return { ...result, stream: result.stream.pipeThrough(parts) };
    },
  };
}
