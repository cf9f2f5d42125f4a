#include "formats/intermediate/category_roles.h"

namespace tracekiln {

CategoryRole RoleOfCategory(absl::string_view category) {
  struct Entry {
    absl::string_view category;
    CategoryRole role;
  };
  static constexpr Entry kRoles[] = {
      {"cpu_op", CategoryRole::kOperator},
      {"python_function", CategoryRole::kPythonFrame},
      {"kernel", CategoryRole::kDeviceWork},
      {"cuda_runtime", CategoryRole::kHostCall},
      {"cuda_driver", CategoryRole::kHostCall},
      {"user_annotation", CategoryRole::kAnnotation},
      {"gpu_memcpy", CategoryRole::kDeviceWork},
      {"gpu_memset", CategoryRole::kDeviceWork},
      {"gpu_user_annotation", CategoryRole::kDeviceOther},
      {"Operator", CategoryRole::kOperator},
      {"Kernel", CategoryRole::kDeviceWork},
      {"concurrent_kernel", CategoryRole::kDeviceWork},
      {"Memcpy", CategoryRole::kDeviceWork},
      {"Memset", CategoryRole::kDeviceWork},
      {"cuda_sync", CategoryRole::kDeviceOther},
      {"cuda_event", CategoryRole::kDeviceOther},
      {"mtia_ccp_events", CategoryRole::kDeviceOther},
      {"collective_comm", CategoryRole::kDeviceOther},
      {"cuda_profiler_range", CategoryRole::kDeviceOther},
      {"Runtime", CategoryRole::kHostCall},
      {"xpu_runtime", CategoryRole::kHostCall},
      {"xpu_driver", CategoryRole::kHostCall},
      {"mtia_runtime", CategoryRole::kHostCall},
      {"privateuse1_runtime", CategoryRole::kHostCall},
      {"privateuse1_driver", CategoryRole::kHostCall},
      {"glow_runtime", CategoryRole::kHostCall},
      {"Trace", CategoryRole::kBookkeeping},
      {"overhead", CategoryRole::kBookkeeping},
  };
  for (const Entry& entry : kRoles) {
    if (entry.category == category) return entry.role;
  }
  return CategoryRole::kHostOther;
}

}  // namespace tracekiln
