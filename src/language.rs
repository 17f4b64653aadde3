//! Language models: adapters of the port `LanguageModel`.
