// Field numbers of et_def.proto. Private to this package.
#ifndef TRACEKILN_FORMATS_CHAKRA_ET_FIELDS_H_
#define TRACEKILN_FORMATS_CHAKRA_ET_FIELDS_H_

#include <cstdint>

namespace tracekiln::chakra {

enum MetadataField : uint32_t { kMetadataVersion = 1, kMetadataAttr = 2 };

enum NodeField : uint32_t {
  kNodeId = 1,
  kNodeName = 2,
  kNodeType = 3,
  kNodeControlDeps = 4,
  kNodeDataDeps = 5,
  kNodeStart = 6,
  kNodeDuration = 7,
  kNodeInputs = 8,
  kNodeOutputs = 9,
  kNodeAttr = 10,
};

enum IoField : uint32_t { kIoValues = 1, kIoShapes = 2, kIoTypes = 3 };

// Those of values are the numbers of AttributeType.
enum AttributeField : uint32_t { kAttributeName = 1, kAttributeDoc = 2 };

}  // namespace tracekiln::chakra

#endif  // TRACEKILN_FORMATS_CHAKRA_ET_FIELDS_H_
