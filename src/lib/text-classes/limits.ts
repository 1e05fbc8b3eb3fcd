/** Bounds of a model of texts. */
export const MODEL_LIMITS = { bits: { least: 8, most: 16 }, outputs: 64, classes: 64, models: 256 } as const;

/** How a model is trained where nothing else is said. */
export const USUAL_TRAINING = { bits: 13, penalty: 10, classes: 12, folds: 5, seed: 1 } as const;
